import { applyTheme, saveTheme, storedTheme, type Theme } from '../shared/theme.ts'
import { addCopyButtons } from './copy-button.ts'
import { addSearch } from './search.ts'

applyTheme()
document.documentElement.classList.add('has-script')
addThemeChoice()
addMenu()
addCopyButtons()
addSearch()
document.querySelector('#adit-contents [aria-current]')?.scrollIntoView({ block: 'nearest' })

function addThemeChoice(): void {
  const choice = document.querySelector<HTMLSelectElement>('#adit-theme')!
  choice.value = storedTheme()
  selectPictures(storedTheme())
  choice.addEventListener('change', () => {
    saveTheme(choice.value as Theme)
    selectPictures(choice.value as Theme)
  })
}

/** A picture follows the system preference; a theme that was chosen here decides instead. */
function selectPictures(theme: Theme): void {
  for (const source of document.querySelectorAll('picture source')) {
    source.setAttribute(
      'media',
      theme === 'system' ? '(prefers-color-scheme: dark)' : theme === 'dark' ? 'all' : 'not all',
    )
  }
}

/** The contents of a narrow page open on request. */
function addMenu(): void {
  const button = document.querySelector('#adit-menu')!
  const contents = document.querySelector('#adit-contents')!
  button.addEventListener('click', () => {
    const isOpen = contents.classList.toggle('open')
    button.setAttribute('aria-expanded', String(isOpen))
  })
}
