import type { ErrorExplanation } from '../base/text/error-explanation.ts'

/** One error code with its explanation. */
export interface ErrorEntry extends ErrorExplanation {
  /** `ERR_ADIT_…` */
  readonly code: string
  readonly number: number
  /** Who reports it, as a heading. */
  readonly area: string
  /** The HTTP status; undefined where the error is no HTTP response. */
  readonly status: number | undefined
}

/** Loads every error code, by area and number. */
export async function loadErrorCatalogue(): Promise<readonly ErrorEntry[]> {
  // Not through the front doors, which would load the whole parts.
  const [{ catalogue }, { edgeErrorKinds }, { protocolErrors }, { policyErrors }, { diagnosisErrors }] =
    await Promise.all([
      import('../api/problems.ts'),
      import('../edge/error-kinds.ts'),
      import('../protocol/errors.ts'),
      import('../policy/error-codes.ts'),
      import('../agent/commands/documentation.ts'),
    ])
  return [
    ...entriesOf('Management API', Object.values(catalogue)),
    ...entriesOf('Public endpoints', Object.values(edgeErrorKinds)),
    ...entriesOf(
      'Agents and SSH clients',
      Object.values(protocolErrors).flatMap(({ number, explanation }) =>
        number === undefined || explanation === undefined ? [] : [{ code: number, ...explanation }],
      ),
    ),
    ...entriesOf('Traffic policies', Object.values(policyErrors)),
    ...entriesOf('adit diagnose', Object.values(diagnosisErrors)),
  ]
}

function entriesOf(
  area: string,
  declarations: readonly (ErrorExplanation & { code: number; status?: number })[],
): ErrorEntry[] {
  return declarations
    .map(({ code: number, status, cause, next }) => ({
      code: `ERR_ADIT_${number}`,
      number,
      area,
      status,
      cause,
      next,
    }))
    .sort((a, b) => a.number - b.number)
}

/** Finds an entry by its code. The number alone will do, and so will the code of the original service. */
export function findError(entries: readonly ErrorEntry[], code: string): ErrorEntry | undefined {
  const [, number] = /^(?:ERR_(?:ADIT|NGROK)_)?(\d{1,9})$/i.exec(code) ?? []
  return entries.find((entry) => String(entry.number) === number)
}
