import type { AuditRecord } from './audit-export.ts'

type FieldChange = NonNullable<AuditRecord['changes']>[number]

/** What a call changed: the old and new value of each field, or the last values of what it deleted. */
export function Changes({ changes, deleted }: { changes: readonly FieldChange[]; deleted: boolean }) {
  const summary = deleted
    ? 'Last values'
    : changes.length === 1
      ? `Changed ${changes[0]!.field}`
      : `Changed ${changes.length} fields`
  return (
    <details className="audit-changes">
      <summary>{summary}</summary>
      <dl>
        {changes.map((change) => (
          <div key={change.field}>
            <dt>
              <code>{change.field}</code>
            </dt>
            <dd>{describe(change, deleted)}</dd>
          </div>
        ))}
      </dl>
    </details>
  )
}

function describe({ old, new: current, secret }: FieldChange, deleted: boolean) {
  if (secret) return <span className="quiet">{deleted ? 'secret' : 'secret changed'}</span>
  if (deleted) return <code>{formatValue(old)}</code>
  return (
    <>
      <del>{formatValue(old)}</del> <span aria-hidden="true">→</span> <ins>{formatValue(current)}</ins>
    </>
  )
}

function formatValue(value: unknown): string {
  if (value === null || value === undefined) return 'not set'
  return typeof value === 'string' ? value : JSON.stringify(value)
}
