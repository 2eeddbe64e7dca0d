/**
 * Whether a JSON text holds at most `max` values. Check untrusted text before parsing it: parsing takes time for each
 * value, this scan next to none (decision 112). The text need not be valid.
 */
export function hasAtMostValues(text: string, max: number): boolean {
  let values = 0
  for (let index = 0; index < text.length; index++) {
    const character = text[index]
    if (character === '"') index = endOfString(text, index)
    else if (character === ',' || character === '{' || character === '[') values++
    if (values > max) return false
  }
  return true
}

/** The index of the quote that closes the string at `start`; past the end of the text when there is none. */
export function endOfString(text: string, start: number): number {
  let index = start + 1
  while (index < text.length && text[index] !== '"') index += text[index] === '\\' ? 2 : 1
  return index
}
