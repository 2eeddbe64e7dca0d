const STORAGE_KEY = 'adit.theme'

/** `system` follows the operating system. */
export type Theme = 'system' | 'light' | 'dark'

/** The theme stored in this browser. */
export function storedTheme(): Theme {
  try {
    const stored = localStorage.getItem(STORAGE_KEY)
    return stored === 'light' || stored === 'dark' ? stored : 'system'
  } catch {
    // Local storage may be disabled.
    return 'system'
  }
}

/** Applies a theme, by default the stored one. */
export function applyTheme(theme: Theme = storedTheme()): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

/** Applies and stores a theme. */
export function saveTheme(theme: Theme): void {
  applyTheme(theme)
  try {
    if (theme === 'system') localStorage.removeItem(STORAGE_KEY)
    else localStorage.setItem(STORAGE_KEY, theme)
  } catch {
    // Without local storage the theme lasts until the page is closed.
  }
}
