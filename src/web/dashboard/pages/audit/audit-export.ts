import type { ItemOf } from '../../lists.ts'

export type AuditRecord = ItemOf<'audit_events'>

const CSV_FIELDS = [
  'at',
  'principal',
  'credential',
  'source',
  'action',
  'kind',
  'object',
  'outcome',
  'detail',
  'changes',
  'operation_id',
  'id',
] as const

/** The records as CSV (RFC 4180), with the changes as JSON. */
export function auditCsv(records: readonly AuditRecord[]): string {
  const rows = records.map((record) =>
    CSV_FIELDS.map((field) =>
      toCell(field === 'changes' ? record.changes && JSON.stringify(record.changes) : record[field]),
    ),
  )
  return [CSV_FIELDS, ...rows].map((row) => `${row.join(',')}\r\n`).join('')
}

function toCell(value: string | null): string {
  const text = value ?? ''
  // A spreadsheet would evaluate it as a formula.
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

/** Offers a text as a download. */
export function saveFile(name: string, text: string, type: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
