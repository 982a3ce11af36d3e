package tool

import (
	"errors"
	"math"
	"math/big"
	"strconv"
)

var (
	errTooBig  = errors.New("the number is too large to compute exactly")
	errByZero  = errors.New("division by zero")
	errComplex = errors.New("the result is not a real number")
)

// bounded returns an error for numbers that would make the next step slow.
func bounded(r *big.Rat) error {
	if r.Num().BitLen() > maxBits || r.Denom().BitLen() > maxBits {
		return errTooBig
	}
	return nil
}

func apply(operator string, a, b *big.Rat) (*big.Rat, error) {
	r := new(big.Rat)
	switch operator {
	case "+":
		r.Add(a, b)
	case "-":
		r.Sub(a, b)
	case "*":
		r.Mul(a, b)
	case "/":
		if b.Sign() == 0 {
			return nil, errByZero
		}
		r.Quo(a, b)
	case "%":
		if b.Sign() == 0 {
			return nil, errByZero
		}
		q := new(big.Rat).Quo(a, b)
		r.Sub(a, r.Mul(b, new(big.Rat).SetInt(truncRat(q))))
	case "^":
		return power(a, b)
	}
	return r, bounded(r)
}

// power is exact for integer exponents and for halves with perfect squares.
func power(a, b *big.Rat) (*big.Rat, error) {
	if !b.IsInt() {
		if b.Denom().IsInt64() && b.Denom().Int64() == 2 {
			root, err := squareRoot(a)
			if err != nil {
				return nil, err
			}
			return power(root, new(big.Rat).SetInt(b.Num()))
		}
		return inexact2(math.Pow, a, b)
	}
	if a.Sign() == 0 && b.Sign() < 0 {
		return nil, errByZero
	}
	one := big.NewRat(1, 1)
	if b.Sign() == 0 || a.Cmp(one) == 0 {
		return one, nil
	}
	bits := int64(max(a.Num().BitLen(), a.Denom().BitLen()))
	if a.Sign() != 0 && (!b.Num().IsInt64() || bits > 1 && abs64(b.Num().Int64()) > maxBits/(bits-1)) {
		if new(big.Rat).Abs(a).Cmp(one) == 0 { // ±1 to any power
			if b.Num().Bit(0) == 0 {
				return one, nil
			}
			return a, nil
		}
		return nil, errTooBig
	}
	exponent := new(big.Int).Abs(b.Num())
	num := new(big.Int).Exp(a.Num(), exponent, nil)
	den := new(big.Int).Exp(a.Denom(), exponent, nil)
	if b.Sign() < 0 {
		num, den = den, num
	}
	r := new(big.Rat).SetFrac(num, den)
	return r, bounded(r)
}

func abs64(n int64) int64 {
	if n == math.MinInt64 {
		return math.MaxInt64
	}
	return max(n, -n)
}

// squareRoot is exact for squares of fractions, and otherwise has 16 significant digits.
func squareRoot(r *big.Rat) (*big.Rat, error) {
	if r.Sign() < 0 {
		return nil, errComplex
	}
	num, den := new(big.Int).Sqrt(r.Num()), new(big.Int).Sqrt(r.Denom())
	if new(big.Int).Mul(num, num).Cmp(r.Num()) == 0 && new(big.Int).Mul(den, den).Cmp(r.Denom()) == 0 {
		return new(big.Rat).SetFrac(num, den), nil
	}
	root, _ := parseRat(new(big.Float).SetPrec(160).Sqrt(new(big.Float).SetPrec(160).SetRat(r)).Text('e', significant-1))
	if root == nil {
		return nil, errTooBig
	}
	return root, nil
}

// ratOf uses 15 digits of a float, because the last bits are rounding errors.
func ratOf(f float64) (*big.Rat, error) {
	switch {
	case math.IsNaN(f):
		return nil, errComplex
	case math.IsInf(f, 0):
		return nil, errTooBig
	}
	r, ok := parseRat(strconv.FormatFloat(f, 'e', 14, 64))
	if !ok {
		return nil, errTooBig
	}
	return r, nil
}

func inexact(fn func(float64) float64, a *big.Rat) (*big.Rat, error) {
	x, _ := a.Float64()
	return ratOf(fn(x))
}

func inexact2(fn func(a, b float64) float64, a, b *big.Rat) (*big.Rat, error) {
	x, _ := a.Float64()
	y, _ := b.Float64()
	return ratOf(fn(x, y))
}

// mathFunction takes from least to most arguments; most 0 means any number.
type mathFunction struct {
	least, most int
	call        func([]*big.Rat) (*big.Rat, error)
}

func whole(f func(*big.Rat) *big.Int) mathFunction {
	return mathFunction{1, 1, func(a []*big.Rat) (*big.Rat, error) { return new(big.Rat).SetInt(f(a[0])), nil }}
}

func pick(sign int) mathFunction {
	return mathFunction{1, 0, func(a []*big.Rat) (*big.Rat, error) {
		best := a[0]
		for _, r := range a[1:] {
			if r.Cmp(best) == sign {
				best = r
			}
		}
		return best, nil
	}}
}

func total(a []*big.Rat) (*big.Rat, error) {
	sum := new(big.Rat)
	for _, r := range a {
		if err := bounded(sum.Add(sum, r)); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

var functions = map[string]mathFunction{
	"min": pick(-1),
	"max": pick(1),
	"sum": {1, 0, total},
	"avg": {1, 0, func(a []*big.Rat) (*big.Rat, error) {
		sum, err := total(a)
		if err != nil {
			return nil, err
		}
		return sum.Quo(sum, big.NewRat(int64(len(a)), 1)), nil
	}},
	"abs":   {1, 1, func(a []*big.Rat) (*big.Rat, error) { return new(big.Rat).Abs(a[0]), nil }},
	"sign":  {1, 1, func(a []*big.Rat) (*big.Rat, error) { return big.NewRat(int64(a[0].Sign()), 1), nil }},
	"floor": whole(floorRat),
	"trunc": whole(truncRat),
	"ceil": whole(func(r *big.Rat) *big.Int {
		n := floorRat(new(big.Rat).Neg(r))
		return n.Neg(n)
	}),
	"round": {1, 2, func(a []*big.Rat) (*big.Rat, error) {
		places := 0
		if len(a) == 2 {
			if !a[1].IsInt() || !a[1].Num().IsInt64() || abs64(a[1].Num().Int64()) > 100 {
				return nil, errors.New("decimal places are a whole number from -100 to 100")
			}
			places = int(a[1].Num().Int64())
		}
		return roundRat(a[0], places), nil
	}},
	"sqrt":  {1, 1, func(a []*big.Rat) (*big.Rat, error) { return squareRoot(a[0]) }},
	"pow":   {2, 2, func(a []*big.Rat) (*big.Rat, error) { return power(a[0], a[1]) }},
	"exp":   {1, 1, func(a []*big.Rat) (*big.Rat, error) { return inexact(math.Exp, a[0]) }},
	"ln":    {1, 1, func(a []*big.Rat) (*big.Rat, error) { return logarithm(math.Log, a[0]) }},
	"log10": {1, 1, func(a []*big.Rat) (*big.Rat, error) { return logarithm(math.Log10, a[0]) }},
}

func logarithm(fn func(float64) float64, a *big.Rat) (*big.Rat, error) {
	if a.Sign() <= 0 {
		return nil, errors.New("the logarithm of a number that is not positive")
	}
	return inexact(fn, a)
}
