/**
 * Whether a JSON text holds at most so many values. Parsing costs time for each of them, and this costs next to none, so
 * it is asked first where somebody else decides about the text. The text need not be valid.
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

/** Where the text ends that begins at `start`: its closing quote, or behind the end when it has none. */
export function endOfString(text: string, start: number): number {
  let index = start + 1
  while (index < text.length && text[index] !== '"') index += text[index] === '\\' ? 2 : 1
  return index
}
