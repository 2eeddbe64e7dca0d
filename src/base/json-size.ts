/**
 * Whether a JSON text holds at most so many values. Parsing costs time for each of them, and this costs next to none, so
 * it is asked first where somebody else decides about the text. The text need not be valid.
 */
export function hasAtMostValues(text: string, max: number): boolean {
  let values = 0
  for (let at = 0; at < text.length; at++) {
    const character = text[at]
    if (character === '"') at = endOfString(text, at)
    else if (character === ',' || character === '{' || character === '[') values++
    if (values > max) return false
  }
  return true
}

/** Where the text ends that begins at `start`: its closing quote, or behind the end when it has none. */
export function endOfString(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
  return at
}
