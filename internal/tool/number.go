package tool

import (
	"encoding/json"
	"math/big"
	"strconv"
	"strings"
)

const (
	// Significant digits of results without a finite decimal representation.
	significant = 16
	// maxExact is the maximum length of a decimal that is written without rounding.
	maxExact = 400
	// maxScale limits the exponents of parsed numbers.
	maxScale = 1000
)

// parseRat parses a decimal number exactly. ok is false for anything else, including hexadecimal
// numbers, infinities, fractions, and huge exponents.
func parseRat(s string) (*big.Rat, bool) {
	if s == "" || len(s) > 4*maxScale {
		return nil, false
	}
	digits := 0
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			digits++
		case c == '.':
		case (c == '-' || c == '+') && (i == 0 || s[i-1] == 'e' || s[i-1] == 'E'):
		case (c == 'e' || c == 'E') && digits > 0:
			if e, err := strconv.Atoi(s[i+1:]); err != nil || e > maxScale || e < -maxScale {
				return nil, false
			}
		default:
			return nil, false
		}
	}
	if digits == 0 {
		return nil, false
	}
	return new(big.Rat).SetString(s)
}

// formatRat formats a number as JSON. The result is exact if a decimal of reasonable length can be,
// and otherwise rounded to 16 significant digits. It has an exponent only if the number is very
// large or small.
func formatRat(r *big.Rat) json.Number {
	if r.IsInt() && r.Num().BitLen() < 3*maxExact {
		return json.Number(r.Num().String())
	}
	if places, finite := r.FloatPrec(); finite && places <= maxExact && r.Num().BitLen() < 3*maxExact {
		return json.Number(r.FloatString(places))
	}
	text := new(big.Float).SetPrec(256).SetRat(r).Text('g', significant)
	if mantissa, exponent, ok := strings.Cut(text, "e"); ok {
		e, err := strconv.Atoi(exponent)
		if err != nil {
			return json.Number(text)
		}
		if strings.Contains(mantissa, ".") {
			mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
		}
		// The number is small enough to be written without an exponent.
		if e >= -20 && e < 0 {
			if plain, ok := parseRat(mantissa + "e" + strconv.Itoa(e)); ok {
				places, _ := plain.FloatPrec()
				return json.Number(plain.FloatString(places))
			}
		}
		return json.Number(mantissa + "e" + strconv.Itoa(e))
	}
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return json.Number(text)
}

// roundRat rounds to a number of decimal places. Halves are rounded away from zero.
func roundRat(r *big.Rat, places int) *big.Rat {
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(places, -places))), nil))
	if places < 0 {
		scale.Inv(scale)
	}
	half := big.NewRat(1, 2)
	if r.Sign() < 0 {
		half.Neg(half)
	}
	scaled := new(big.Rat).Add(new(big.Rat).Mul(r, scale), half)
	return scaled.Quo(new(big.Rat).SetInt(truncRat(scaled)), scale)
}

func truncRat(r *big.Rat) *big.Int { return new(big.Int).Quo(r.Num(), r.Denom()) }

func floorRat(r *big.Rat) *big.Int {
	// This is Euclidean division: the remainder is never negative, and denominators are positive.
	return new(big.Int).Div(r.Num(), r.Denom())
}
