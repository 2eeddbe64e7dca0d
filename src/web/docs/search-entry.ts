/** What a search finds: a section of a page, or an error code. */
export interface SearchEntry {
  readonly url: string
  /** The title of the page. */
  readonly page: string
  /** The heading of the section; empty for the beginning of a page. */
  readonly heading: string
  readonly text: string
}
