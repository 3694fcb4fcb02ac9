// `html[data-ready]` says that the first data of the page are there: for tests, and for whoever automates the page.
let pending = 0;
let asked = false;

function settle(): void {
  if (asked) return;
  asked = true;
  // After what was read is drawn.
  setTimeout(() => {
    asked = false;
    document.documentElement.toggleAttribute('data-ready', pending === 0);
  });
}

export const ready = {
  begin(): void {
    pending++;
  },
  end(): void {
    pending--;
    settle();
  },
  /** Another page is shown. */
  anew(): void {
    document.documentElement.removeAttribute('data-ready');
    settle();
  },
};
