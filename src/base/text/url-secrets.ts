const SCHEME = /^[a-z][a-z0-9+.-]*:\/\//i

/**
 * Hides the parts of a URL that may be secret: what precedes the last @, the query and the fragment. The text may also be
 * an address without scheme, a list of URLs or no URL at all: then too much is hidden rather than too little.
 */
export function hideUrlSecrets(url: string): string {
  const [scheme = ''] = SCHEME.exec(url) ?? []
  const userinfoEnd = url.lastIndexOf('@')
  const visible = userinfoEnd < 0 ? url : `${scheme}[hidden]${url.slice(userinfoEnd)}`
  const end = visible.search(/[?#]/)
  return end < 0 ? visible : `${visible.slice(0, end + 1)}[hidden]`
}
