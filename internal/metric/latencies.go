package metric

import (
	"math"
	"time"
)

// latencies counts durations in buckets from ten microseconds to a quarter of an hour. Each bucket
// is a quarter longer than the previous one, so that percentiles have an error of at most an
// eighth.
type latencies struct {
	n     int64
	count [82]uint32
}

const firstBucket, bucketGrowth = float64(10 * time.Microsecond), 1.25

func (l *latencies) add(d time.Duration) {
	i := 0
	if f := float64(d); f > firstBucket {
		i = min(int(math.Ceil(math.Log(f/firstBucket)/math.Log(bucketGrowth))), len(l.count)-1)
	}
	l.count[i]++
	l.n++
}

func (l *latencies) merge(o *latencies) {
	l.n += o.n
	for i, c := range o.count {
		l.count[i] += c
	}
}

// percentile returns the duration that a share p of all durations does not exceed, or 0 if there
// are none.
func (l *latencies) percentile(p float64) time.Duration {
	rank := int64(math.Ceil(p * float64(l.n)))
	seen := int64(0)
	for i, c := range l.count {
		if seen += int64(c); seen >= rank && rank > 0 {
			upper := firstBucket * math.Pow(bucketGrowth, float64(i))
			if i == 0 {
				return time.Duration(upper)
			}
			return time.Duration((upper + upper/bucketGrowth) / 2)
		}
	}
	return 0
}
