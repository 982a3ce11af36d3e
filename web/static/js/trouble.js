import { dialog } from "./dialog.js";
import { $, body, word } from "./dom.js";
import { polling } from "./live.js";

// A failed request leaves the page unchanged. The error is shown over it until a request for the
// same target succeeds.
let failed = "";
const trouble = (key, html, text) => {
  let b = $("#failed");
  if (!key) {
    if (b) b.remove();
    failed = "";
    return;
  }
  if (!b) {
    b = document.createElement("div");
    b.id = "failed";
    (dialog.open ? dialog : body).append(b);
  }
  b.innerHTML = html || '<div class="note bad" role="alert"><p></p></div>';
  if (!html) b.querySelector("p").textContent = text;
  const close = Object.assign(document.createElement("button"), {
    type: "button",
    className: "btn sm",
    textContent: word("close"),
  });
  close.addEventListener("click", () => trouble(""));
  b.firstElementChild.append(close);
  failed = key;
};
const asks = (e) => (e.detail.target && e.detail.target.id) || (e.detail.elt && e.detail.elt.id) || "page";
const lives = (e) => e.detail.elt && e.detail.elt.dataset.live;
document.addEventListener("htmx:afterRequest", (e) => {
  const r = e.detail.xhr,
    code = r ? r.status : 0;
  if (e.detail.successful || (code && code < 400) || code === 409 || code === 422) {
    if (failed === asks(e)) trouble("");
    return;
  }
  if (code < 400 || code === 401 || (lives(e) && polling())) return; // the login page or the live indicator shows it
  trouble(
    asks(e),
    /^text\/html/.test(r.getResponseHeader("Content-Type") || "") ? r.responseText : "",
    word("unread"),
  );
});
for (const lost of ["htmx:sendError", "htmx:timeout"])
  document.addEventListener(lost, (e) => {
    if (!lives(e)) trouble(asks(e), "", word(e.detail.requestConfig.verb === "post" ? "lost" : "unread"));
  });
