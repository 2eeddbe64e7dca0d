import type { Match, SearchIndex } from './search-index.ts'

/** Opens the search on the button, on `/` and on Ctrl+K. Its index is fetched on first use. */
export function addSearch(): void {
  const dialog = document.querySelector<HTMLDialogElement>('#adit-search')!
  const field = dialog.querySelector('input')!
  const state = dialog.querySelector('#adit-search-state')!
  const results = dialog.querySelector('#adit-results')!
  let index: Promise<SearchIndex> | undefined

  async function show(): Promise<void> {
    const query = field.value
    state.textContent = 'Loading…'
    index ??= import('./search-index.ts').then(({ loadSearchIndex }) => loadSearchIndex())
    const matches = await index.then(
      (search) => search(query),
      (error: Error) => error,
    )
    if (query !== field.value) return
    if (matches instanceof Error) {
      // The next word tries again.
      index = undefined
      state.textContent = `The search could not be loaded: ${matches.message}`
      return
    }
    results.replaceChildren(...matches.map(renderMatch))
    state.textContent = query.trim() === '' ? '' : countOf(matches.length)
  }

  function open(): void {
    if (dialog.open) return
    dialog.showModal()
    field.select()
    void show()
  }

  document.querySelector('#adit-open-search')!.addEventListener('click', open)
  field.addEventListener('input', () => void show())
  // A link to a heading of this page does not leave it.
  results.addEventListener('click', () => dialog.close())
  dialog.addEventListener('click', (event) => {
    if (event.target === dialog) dialog.close()
  })
  dialog.addEventListener('keydown', (event) => {
    const links = [...results.querySelectorAll('a')]
    const position = links.indexOf(document.activeElement as HTMLAnchorElement)
    if (event.key === 'Enter' && position < 0) links[0]?.click()
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return
    event.preventDefault()
    const next = position + (event.key === 'ArrowDown' ? 1 : -1)
    if (next < 0) field.focus()
    else links[next]?.focus()
  })
  addEventListener('keydown', (event) => {
    const isTyping = (event.target as HTMLElement).matches('input, select, textarea')
    const isShortcut =
      (event.key === 'k' && (event.ctrlKey || event.metaKey)) ||
      (event.key === '/' && !isTyping && !event.ctrlKey && !event.metaKey)
    if (!isShortcut) return
    event.preventDefault()
    open()
  })
}

function countOf(matches: number): string {
  if (matches === 0) return 'No matches'
  return matches === 1 ? '1 match' : `${matches} matches`
}

function renderMatch({ url, page, heading, excerpt }: Match): HTMLElement {
  const item = document.createElement('li')
  const link = document.createElement('a')
  link.href = url
  const title = document.createElement('strong')
  title.textContent = heading === '' ? page : `${page} › ${heading}`
  const text = document.createElement('span')
  for (const { text: part, isMatch } of excerpt) {
    const node = document.createElement(isMatch ? 'mark' : 'span')
    node.textContent = part
    text.append(node)
  }
  link.append(title, text)
  item.append(link)
  return item
}
