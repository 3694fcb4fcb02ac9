// Before anything is drawn, so that nothing flashes: what was chosen here, else what the system says.
try {
  const theme = localStorage.getItem('travertine.theme');
  if (theme === 'dark' || theme === 'light') document.documentElement.dataset.theme = theme;
} catch {
  // A browser that keeps nothing shows what the system says.
}
