// Who uses the page, where the server wants to know.

class Session {
  /** What unsafe requests must carry. */
  token = $state<string | null>(null);
  name = $state<string | null>(null);
  /** Whether somebody must log in before anything can be seen. */
  wanted = $state(false);
  /** Whether what was said last was not right. */
  refused = $state(false);
  /** What every request says of who sends it. It is kept as long as this tab shows the page, and nowhere else. */
  authorization = $state<string | null>(null);

  /** Which permissions whoever asks has; null where the server has not said it yet. */
  permissions = $state.raw<{ [permission: string]: string } | null>(null);
  /** Whether something may be shown that needs one of these. The server has the last word. */
  can(...permissions: string[]): boolean {
    if (permissions.length === 0) return true;
    // Until the server has said it: everything, where nobody has logged in, and nothing for somebody.
    if (this.permissions === null) return this.authorization === null;
    return permissions.some((it) => it in (this.permissions ?? {}));
  }

  /** A key that was just drawn: it is here, and nowhere else. */
  drawn = $state.raw<{ key: string; secret: string } | null>(null);

  lost(): void {
    this.refused = this.authorization !== null;
    this.authorization = null;
    this.permissions = null;
    this.name = null;
    this.wanted = true;
  }
  /** With a name and a password, or with a key alone. */
  login(name: string, secret: string): void {
    const text = new TextEncoder().encode(`${name}:${secret}`);
    this.authorization = name === '' ? `Bearer ${secret}` : `Basic ${btoa(String.fromCharCode(...text))}`;
    this.name = name || null;
    this.permissions = null;
    this.wanted = false;
    this.refused = false;
  }
  logout(): void {
    this.permissions = null;
    this.authorization = null;
    this.name = null;
    this.wanted = true;
  }
}

export const session = new Session();
