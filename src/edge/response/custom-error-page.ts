import { escapeHtml } from '../../base/http/html.ts'
import { type ErrorPage, type ErrorPagePlaceholder, PLACEHOLDER } from '../../resources/index.ts'
import type { OwnedRecord, Snapshot } from '../contracts/snapshot.ts'
import { commonFields } from './pages.ts'

/** The values of a page's placeholders. */
export type PlaceholderValues = Readonly<Record<ErrorPagePlaceholder, string>>

/**
 * Field lines of an account's page (decision 200): its styles are its own; scripts, forms, frames and every external
 * request are denied: a user who may edit error pages can neither act as a visitor nor collect passwords with them.
 */
export const customPageFields =
  `Content-Type: text/html; charset=utf-8\r\n${commonFields}` +
  "Content-Security-Policy: default-src 'none'; style-src 'unsafe-inline'; img-src data:; font-src data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'\r\n"

/** A page of an account, split at its placeholders. */
export class CustomErrorPage {
  /** Literal text at even positions, names of placeholders at odd ones. */
  readonly #parts: readonly string[]

  constructor(html: string) {
    this.#parts = html.split(PLACEHOLDER)
  }

  render(values: PlaceholderValues): Buffer {
    return Buffer.from(
      this.#parts
        .map((part, index) => (index % 2 === 0 ? part : escapeHtml(values[part as ErrorPagePlaceholder])))
        .join(''),
    )
  }
}

/** Finds the page for a status on a host. `accountId` is undefined where no endpoint serves the host. */
export type FindErrorPage = (
  status: number,
  host: string,
  accountId: string | undefined,
) => CustomErrorPage | undefined

/** Looks up pages among the records of the snapshot; each is split once for each revision. */
export function createErrorPageLookup(snapshot: Snapshot): FindErrorPage {
  const pages = new WeakMap<OwnedRecord<typeof ErrorPage>, CustomErrorPage>()
  return (status, host, accountId = ownerOf(snapshot, host)) => {
    if (accountId === undefined) return undefined
    const records = snapshot.errorPagesOf(accountId)
    if (records.length === 0) return undefined
    const record = [`${status}`, `${Math.trunc(status / 100)}xx`, 'all']
      .map((selector) => records.find((each) => each.status === selector))
      .find((each) => each !== undefined)
    if (record === undefined) return undefined
    const page = pages.get(record) ?? new CustomErrorPage(record.html)
    pages.set(record, page)
    return page
  }
}

/** The account that has reserved the host, or a wildcard that covers it. */
function ownerOf(snapshot: Snapshot, host: string): string | undefined {
  let domain = snapshot.domainNamed(host)
  for (let dot = host.indexOf('.'); domain === undefined && dot !== -1; dot = host.indexOf('.', dot + 1))
    domain = snapshot.domainNamed(`*${host.slice(dot)}`)
  return domain?.accountId
}
