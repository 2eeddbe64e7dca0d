/** A key that an object in JSON has twice, which readers take differently; the text has to be valid JSON. */
export function findDuplicateKey(json: string): string | undefined {
  const openObjects: Set<string>[] = []
  // A text is a key when a colon follows; everything else that matters are the braces outside of texts.
  for (const [token] of json.matchAll(/"[^"\\]*(?:\\[\s\S][^"\\]*)*(?:"(?:\s*:)?|\\?$)|[{}]/g)) {
    if (token === '{') openObjects.push(new Set())
    else if (token === '}') openObjects.pop()
    else if (token.endsWith(':')) {
      const key = JSON.parse(token.slice(0, token.lastIndexOf('"') + 1)) as string
      if (openObjects.at(-1)?.has(key)) return key
      openObjects.at(-1)?.add(key)
    }
  }
  return undefined
}
