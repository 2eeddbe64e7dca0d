const KEY = 'adit.theme'

/** `system` leaves the choice to the operating system. */
export type Theme = 'system' | 'light' | 'dark'

/** What was chosen on this browser. */
export function chosenTheme(): Theme {
  try {
    const kept = localStorage.getItem(KEY)
    return kept === 'light' || kept === 'dark' ? kept : 'system'
  } catch {
    // A browser that keeps nothing still shows the page.
    return 'system'
  }
}

/** Shows the page in a theme, by default the one that was chosen. */
export function applyTheme(theme: Theme = chosenTheme()): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

/** Keeps the choice and shows it. */
export function chooseTheme(theme: Theme): void {
  applyTheme(theme)
  try {
    if (theme === 'system') localStorage.removeItem(KEY)
    else localStorage.setItem(KEY, theme)
  } catch {
    // The choice then lasts as long as the page.
  }
}
