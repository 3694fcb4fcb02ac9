// What somebody has chosen for this browser: theme, zone, language. And drafts of what they have typed.

const PREFIX = 'travertine.';

export function keep(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // A browser that keeps nothing forgets it with the page.
  }
}

export function kept(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}

export type Theme = 'system' | 'light' | 'dark';
export type Zone = 'local' | 'utc';

class Prefs {
  theme = $state<Theme>((kept('theme') as Theme | null) ?? 'system');
  zone = $state<Zone>((kept('zone') as Zone | null) ?? 'local');
  language = $state(kept('language') ?? (navigator.language.startsWith('de') ? 'de' : 'en'));

  set_theme(theme: Theme): void {
    this.theme = theme;
    keep('theme', theme === 'system' ? null : theme);
    if (theme === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = theme;
  }
  set_zone(zone: Zone): void {
    this.zone = zone;
    keep('zone', zone);
  }
  set_language(language: string): void {
    this.language = language;
    keep('language', language);
    document.documentElement.lang = language;
  }
}

export const prefs = new Prefs();
document.documentElement.lang = prefs.language;
