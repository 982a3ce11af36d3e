// plain reports whether a click only follows the link, without modifier keys.
export const plain = (e) =>
  e.button === 0 && !e.ctrlKey && !e.metaKey && !e.shiftKey && !e.altKey && !e.defaultPrevented;
