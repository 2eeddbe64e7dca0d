const SHOWN_MS = 1500

/** Gives every block of code a button that copies it. */
export function addCopyButtons(): void {
  // Browsers offer the clipboard on https and on this machine only.
  if (!navigator.clipboard) return
  for (const block of document.querySelectorAll('figure.code')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'copy'
    button.textContent = 'Copy'
    button.addEventListener('click', async () => {
      try {
        await navigator.clipboard.writeText(block.querySelector('code')!.textContent.trimEnd())
        button.textContent = 'Copied'
      } catch {
        button.textContent = 'Not allowed'
      }
      setTimeout(() => {
        button.textContent = 'Copy'
      }, SHOWN_MS)
    })
    block.append(button)
  }
}
