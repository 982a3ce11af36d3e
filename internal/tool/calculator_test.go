package tool_test

import (
	"math/big"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kairosd/kairosd/internal/tool"
	"github.com/kairosd/kairosd/planner/jsonvalue"
)

func quote(s string) string { b, _ := jsonvalue.Encode(s); return string(b) }

func TestCalculator(t *testing.T) {
	t.Parallel()
	set := builtin(t, tool.Config{}, nil)
	for expression, want := range map[string]string{
		"1+1": "2", "0.1 + 0.2": "0.3", "2 + 3 * 4": "14", "(2+3)*4": "20", "10 / 4": "2.5", "1/3": "0.3333333333333333", "1/3*3": "1",
		"-2^2": "-4", "(-2)^2": "4", "2^3^2": "512", "2^-1": "0.5", "2**10": "1024", "7 % 3": "1", "-7 % 3": "-1", "5.5 % 2": "1.5",
		"--1": "1", "+3": "3",
		"2^100": "1267650600228229401496703205376", "1e3 + .5": "1000.5", "1e-7": "0.0000001", "9007199254740993 + 0": "9007199254740993",
		"sqrt(16)": "4", "sqrt(0.25)": "0.5", "sqrt(2)": "1.414213562373095", "4^0.5": "2", "8^(1/3)": "2",
		"min(3, 1, 2)": "1", "max(3, 1, 2)": "3", "sum(1,2,3)": "6", "avg(1,2)": "1.5", "abs(-3.5)": "3.5", "sign(-3)": "-1",
		"round(2.5)": "3", "round(-2.5)": "-3", "round(2.345, 2)": "2.35", "round(1234, -2)": "1200", "floor(-1.5)": "-2",
		"ceil(-1.5)": "-1", "ceil(1.2)": "2", "trunc(-1.5)": "-1",
		"pow(2, 8)": "256", "ln(1)": "0", "log10(1000)": "3", "exp(0)": "1", "round(pi, 4)": "3.1416", "6 × 7 − 2 ÷ 2": "41",
		"120000*1.21": "145200", "(-1)^99999999999": "-1", "0^0": "1", "1^1e9": "1",
	} {
		got, f := call(t, set, "calculator", `{"expression": `+quote(expression)+`}`)
		if f != nil || got != want {
			t.Errorf("%s = %s (%v), want %s", expression, got, f, want)
		}
	}
	if got, f := call(t, set, "calculator", `{"expression": "(net - cost) / net", "values": {"net": 200, "cost": "150"}}`); f != nil ||
		got != "0.25" {
		t.Errorf("with values: %s, %v", got, f)
	}
	for expression, want := range map[string]string{
		"1/0": "division by zero at column 2", "5 % 0": "division by zero", "0^-1": "division by zero", "1+": "a number is " +
			"missing at column 3", "": "expression", "(1": "expected )",
		"1 2": "unexpected \"2\"", "foo": "unknown name", "foo(1)": "unknown function", "sqrt(-1)": "not a real number",
		"2^1e9": "too large", "9^9^9": "too large", "1e999999999": "not a number",
		"1e1001": "not a number", "max()": "does not accept 0", "abs(1,2)": "does not accept 2", "1..2": "not a number",
		"0x10": "unexpected", "1;2": "unexpected", "=1": "unexpected", "ln(0)": "not positive",
		strings.Repeat("(", 500): "nested deeper", strings.Repeat("-", 500) + "1": "nested deeper",
		strings.Repeat("1^", 500) + "1": "nested deeper", "exp(1e6)": "too large", "round(1, 1e9)": "decimal places",
		"🙂 + 1": "unexpected \"🙂\" at column 1", "1 + 🙂": "at column 5",
	} {
		refuses(t, set, "calculator", `{"expression": `+quote(expression)+`}`, want)
	}
	refuses(t, set, "calculator", `{"expression": `+quote(strings.Repeat("1+", 3000)+"1")+`}`, "expression")
}

// The calculator's sums, differences, and products equal those of exact fractions.
func TestCalculatorIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		text := rapid.StringMatching(`-?[0-9]{1,6}(\.[0-9]{1,6})?`).Draw(rt, "first")
		want, _ := new(big.Rat).SetString(text)
		for range rapid.IntRange(0, 8).Draw(rt, "terms") {
			n := rapid.StringMatching(`[0-9]{1,6}(\.[0-9]{1,6})?`).Draw(rt, "n")
			r, _ := new(big.Rat).SetString(n)
			switch op := rapid.SampledFrom([]string{"+", "-", "*"}).Draw(rt, "op"); op {
			case "+":
				want.Add(want, r)
				text += " + " + n
			case "-":
				want.Sub(want, r)
				text += " - " + n
			case "*":
				want.Mul(want, r)
				text = "(" + text + ") * " + n
			}
		}
		got, err := tool.Evaluate(text, nil)
		if err != nil || got.Cmp(want) != 0 {
			rt.Fatalf("%s = %v (%v), want %v", text, got, err, want)
		}
	})
}

func FuzzCalculator(f *testing.F) {
	for _, s := range []string{"1+1", "-2^2^2", "max(1,2)/0", "((1)", "1e10^100", "sqrt(2)^0.5", "pi % e"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := tool.Evaluate(s, nil)
		if err == nil && r == nil {
			t.Fatal("neither a result nor an error")
		}
	})
}
