const NAMES = new Intl.DisplayNames(['en'], { type: 'region' })

/** The name of a country by its code; null for addresses of which no country is known. */
export function countryName(code: string | null): string {
  if (code === null) return 'Unknown'
  // The data may be of any kind; other codes would throw.
  return /^[A-Z]{2}$/.test(code) ? (NAMES.of(code) ?? code) : code
}
