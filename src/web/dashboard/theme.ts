const STORAGE_KEY = 'adit.theme'

/** `system` leaves the choice to the operating system. */
export type Theme = 'system' | 'light' | 'dark'

/** What was chosen on this browser. */
export function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(STORAGE_KEY)
    return stored === 'light' || stored === 'dark' ? stored : 'system'
  } catch {
    // A browser that keeps nothing still shows the page.
    return 'system'
  }
}

/** Shows the page in a theme, by default the one that was chosen. */
export function applyTheme(theme: Theme = storedTheme()): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

/** Keeps the choice and shows it. */
export function saveTheme(theme: Theme): void {
  applyTheme(theme)
  try {
    if (theme === 'system') localStorage.removeItem(STORAGE_KEY)
    else localStorage.setItem(STORAGE_KEY, theme)
  } catch {
    // The choice then lasts as long as the page.
  }
}
