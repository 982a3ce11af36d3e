// In a graph, the left and right arrow keys move along edges, and up and down between neighbors.
document.addEventListener("keydown", (e) => {
  const a = e.target.closest && e.target.closest(".dag a[data-to]");
  if (!a || !e.key.startsWith("Arrow") || e.ctrlKey || e.metaKey || e.altKey) return;
  const box = (n) => n.getBoundingClientRect(),
    here = box(a),
    all = [...a.closest("svg").querySelectorAll("a[data-to]")];
  let to;
  if (e.key === "ArrowRight") to = document.getElementById(a.dataset.to.split(" ")[0]);
  else if (e.key === "ArrowLeft") to = all.find((n) => n.dataset.to.split(" ").includes(a.id));
  else {
    const down = e.key === "ArrowDown" ? 1 : -1;
    to = all
      .filter((n) => (box(n).top - here.top) * down > 4)
      .sort((m, n) =>
        [m, n]
          .map((x) => Math.abs(box(x).left - here.left) * 3 + Math.abs(box(x).top - here.top))
          .reduce((x, y) => x - y),
      )[0];
  }
  e.preventDefault();
  if (to) {
    to.focus();
    to.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
});
