/** Finds a key that occurs twice in one JSON object, which parsers resolve differently. The text must be valid JSON. */
export function findDuplicateKey(json: string): string | undefined {
  const openObjects: Set<string>[] = []
  // A string followed by a colon is a key. Besides keys, only braces outside of strings matter.
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
