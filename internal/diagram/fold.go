package diagram

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// hops is the distance from the focus within which nothing is folded, if there is space.
const hops = 2

// fold reduces a large picture to at most a number of boxes. It repeatedly merges boxes between the
// same neighbors and boxes in a row, except near the focus. If too many boxes remain, it leaves out
// those farthest from the focus. The result depends only on the picture.
func (pic picture) fold(most int, focus string, s sizes) picture {
	if most <= 0 || len(pic.boxes) <= most {
		return pic
	}
	at := max(slices.IndexFunc(pic.boxes, func(b Node) bool { return b.ID == focus }), 0)
	for range 40 {
		near := pic.near(at, most)
		next, moved := pic.merge(pic.alike(near), at, s)
		if len(next.boxes) > most || len(next.boxes) == len(pic.boxes) {
			near = next.near(moved, most)
			next, moved = next.merge(next.rows(near), moved, s)
		}
		if len(next.boxes) == len(pic.boxes) {
			break
		}
		if pic, at = next, moved; len(pic.boxes) <= most {
			break
		}
	}
	if len(pic.boxes) > most {
		pic = pic.around(at, most)
	}
	return pic
}

// distances returns the number of links from a box to each box. It is -1 beyond far links.
func (pic picture) distances(at, far int) []int {
	d := make([]int, len(pic.boxes))
	for i := range d {
		d[i] = -1
	}
	beside := pic.beside()
	d[at] = 0
	for queue := []int{at}; len(queue) > 0; queue = queue[1:] {
		i := queue[0]
		if d[i] == far {
			continue
		}
		for _, j := range beside[i] {
			if d[j] < 0 {
				d[j] = d[i] + 1
				queue = append(queue, j)
			}
		}
	}
	return d
}

// near returns the distances of the boxes around a box that stay unfolded: within two hops, or
// fewer if that would be more than half of the picture.
func (pic picture) near(at, most int) []int {
	for far := hops; ; far-- {
		d := pic.distances(at, far)
		n := 0
		for _, x := range d {
			if x >= 0 {
				n++
			}
		}
		if n <= max(most/2, 1) || far == 0 {
			return d
		}
	}
}

// beside returns the neighbors of each box, in both directions.
func (pic picture) beside() [][]int {
	out := make([][]int, len(pic.boxes))
	for _, l := range pic.links {
		out[l.from] = append(out[l.from], l.to)
		out[l.to] = append(out[l.to], l.from)
	}
	return out
}

// alike groups boxes with the same neighbors on both sides (fans).
func (pic picture) alike(near []int) []int {
	in, out := make([][]string, len(pic.boxes)), make([][]string, len(pic.boxes))
	self := make([]bool, len(pic.boxes))
	for _, l := range pic.links {
		kind := fmt.Sprintf("%v%v", l.need, l.failed)
		in[l.to] = append(in[l.to], fmt.Sprint(l.from, kind))
		out[l.from] = append(out[l.from], fmt.Sprint(l.to, kind))
		self[l.from] = self[l.from] || l.from == l.to
	}
	group := make([]int, len(pic.boxes))
	first := map[string]int{}
	for i := range pic.boxes {
		group[i] = i
		if near[i] >= 0 || self[i] || len(in[i])+len(out[i]) == 0 {
			continue
		}
		slices.Sort(in[i])
		slices.Sort(out[i])
		key := strings.Join(in[i], ",") + ">" + strings.Join(out[i], ",")
		if f, ok := first[key]; ok {
			group[i] = f
		} else {
			first[key] = i
		}
	}
	return group
}

// rows groups boxes that follow each other without other links (chains).
func (pic picture) rows(near []int) []int {
	in, out := make([]int, len(pic.boxes)), make([]int, len(pic.boxes))
	for _, l := range pic.links {
		in[l.to]++
		out[l.from]++
	}
	group := make([]int, len(pic.boxes))
	for i := range group {
		group[i] = i
	}
	root := func(i int) int {
		for group[i] != i {
			group[i] = group[group[i]]
			i = group[i]
		}
		return i
	}
	for _, l := range pic.links {
		if l.from == l.to || near[l.from] >= 0 || near[l.to] >= 0 || out[l.from] != 1 || in[l.to] != 1 {
			continue
		}
		if a, b := root(l.from), root(l.to); a != b { // a ring keeps one link
			group[max(a, b)] = min(a, b)
		}
	}
	for i := range group {
		group[i] = root(i)
	}
	return group
}

// merge combines each group into one box, and returns the new position of a box.
func (pic picture) merge(group []int, at int, s sizes) (picture, int) {
	place := make([]int, len(pic.boxes))
	out := picture{left: pic.left}
	size := map[int]int{}
	for i := range pic.boxes {
		size[group[i]]++
	}
	for i, b := range pic.boxes {
		if g := group[i]; g != i {
			place[i] = place[g]
			m := &out.boxes[place[g]]
			m.Members = append(m.Members, b.Members...)
			m.Unsafe = m.Unsafe || b.Unsafe
			continue
		}
		place[i] = len(out.boxes)
		if size[i] > 1 {
			b.Shape, b.Members, b.Foreach = ShapeGroup, slices.Clone(b.Members), false
		}
		out.boxes = append(out.boxes, b)
	}
	for i := range out.boxes {
		if b := &out.boxes[i]; b.Shape == ShapeGroup {
			b.Label = fmt.Sprintf("%d steps", len(b.Members))
			b.Note = cut(visible(b.Members[0]+" … "+b.Members[len(b.Members)-1]), s.chars+4)
		}
	}
	for _, r := range pic.roots {
		if !slices.Contains(out.roots, place[r]) {
			out.roots = append(out.roots, place[r])
		}
	}
	seen := map[[2]int]bool{}
	for _, l := range pic.links {
		f, t := place[l.from], place[l.to]
		if f == t && l.from != l.to {
			continue // the link is inside a group
		}
		folded := out.boxes[f].Shape == ShapeGroup || out.boxes[t].Shape == ShapeGroup
		if folded && seen[[2]int{f, t}] {
			continue
		}
		seen[[2]int{f, t}] = true
		l.from, l.to = f, t
		if folded {
			l.label, l.text, l.position = "", "", -1
		}
		out.links = append(out.links, l)
	}
	return out, place[at]
}

// around keeps the boxes nearest to a box.
func (pic picture) around(at, most int) picture {
	d := pic.distances(at, len(pic.boxes))
	order := make([]int, len(pic.boxes))
	for i := range order {
		order[i] = i
		if d[i] < 0 {
			d[i] = len(pic.boxes)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(d[a], d[b]) })
	place := make([]int, len(pic.boxes))
	for i := range place {
		place[i] = -1
	}
	out := picture{left: pic.left}
	kept := slices.Sorted(slices.Values(order[:most]))
	for _, i := range kept {
		place[i] = len(out.boxes)
		out.boxes = append(out.boxes, pic.boxes[i])
	}
	for i, b := range pic.boxes {
		if place[i] < 0 {
			out.left += len(b.Members)
		}
	}
	for _, r := range pic.roots {
		if place[r] >= 0 {
			out.roots = append(out.roots, place[r])
		}
	}
	for _, l := range pic.links {
		if place[l.from] >= 0 && place[l.to] >= 0 {
			l.from, l.to = place[l.from], place[l.to]
			out.links = append(out.links, l)
		}
	}
	return out
}
