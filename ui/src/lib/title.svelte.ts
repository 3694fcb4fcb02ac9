// What the page is called, in the title of the window.
class Page {
  title = $state('');
}
export const page = new Page();
