package filter

// maxParts limits how often a filtered list is read for one page. A page can have fewer items than
// requested, and the next page continues the search.
const maxParts = 20

// Search reads parts of a list after a position until limit items match a filter. part returns
// items and the position after them; zero: the list ends. next is where the search continues.
func Search[T any, P comparable](text string, limit int, after P,
	part func(after P, limit int) (items []T, next P, err error)) (found []T, next P, err error) {
	var end P
	for range maxParts {
		var items []T
		if items, next, err = part(after, limit-len(found)); err != nil {
			return nil, end, err
		}
		if items, err = Select(text, items, func(x T) T { return x }); err != nil {
			return nil, end, err
		}
		if found = append(found, items...); next == end || len(found) >= limit {
			break
		}
		after = next
	}
	return found, next, nil
}

// Select returns the items whose view matches a filter.
func Select[S, T any](text string, items []S, view func(S) T) ([]S, error) {
	if text == "" {
		return items, nil
	}
	var sample T
	f, problem := ParseItems(text, sample)
	if problem != nil {
		return nil, problem
	}
	var out []S
	for _, x := range items {
		ok, err := f.Match(view(x))
		if err != nil {
			return nil, err
		}
		if ok {
			out = append(out, x)
		}
	}
	return out, nil
}
