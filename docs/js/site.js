// What the theme puts into a page after it has loaded is made known to screen readers and keyboards:
// bars of buttons on code are no landmarks, and wide tables can be scrolled without a mouse.
function reachable() {
  for (const bar of document.querySelectorAll("nav.md-code__nav:not([role])")) {
    bar.setAttribute("role", "none");
  }
  for (const wrap of document.querySelectorAll(".md-typeset__scrollwrap:not([tabindex])")) {
    wrap.setAttribute("tabindex", "0");
  }
}
new MutationObserver(reachable).observe(document.documentElement, { childList: true, subtree: true });
reachable();
