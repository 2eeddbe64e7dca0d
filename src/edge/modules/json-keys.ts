/** A key that an object in JSON has twice, which readers take differently; the text has to be valid JSON. */
export function doubledKey(json: string): string | undefined {
  const seen: Set<string>[] = []
  // A text is a key when a colon follows; everything else that matters are the braces outside of texts.
  for (const [token] of json.matchAll(/"[^"\\]*(?:\\[\s\S][^"\\]*)*(?:"(?:\s*:)?|\\?$)|[{}]/g)) {
    if (token === '{') seen.push(new Set())
    else if (token === '}') seen.pop()
    else if (token.endsWith(':')) {
      const key = JSON.parse(token.slice(0, token.lastIndexOf('"') + 1)) as string
      if (seen.at(-1)?.has(key)) return key
      seen.at(-1)?.add(key)
    }
  }
  return undefined
}
