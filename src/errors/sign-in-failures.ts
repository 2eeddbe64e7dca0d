const START = '| Failure | Visitors get | What happened | What to change | Log |\n'

/** A document with its table of failed sign-ins as they are declared. */
export async function replaceFailureTable(document: string): Promise<string> {
  const start = document.indexOf(START)
  const end = document.indexOf('\n\n', start)
  if (start === -1 || end === -1) throw new Error('the document has no table of failed sign-ins')
  return document.slice(0, start) + (await formatFailureTable()) + document.slice(end)
}

async function formatFailureTable(): Promise<string> {
  // Not through the front door, which would load the whole part.
  const [{ edgeErrorKinds }, { failureKinds }] = await Promise.all([
    import('../edge/error-kinds.ts'),
    import('../edge/login/failures.ts'),
  ])
  const rows = Object.entries(failureKinds).map(([name, { error, cause, visitor, owner, log }]) => {
    const { code, status } = edgeErrorKinds[error]
    const reason = visitor === undefined ? '' : `: ${visitor}`
    return `| \`${name}\` | ${status} \`ERR_ADIT_${code}\`${reason} | ${cause} | ${owner} | ${log === 'none' ? '–' : log} |`
  })
  return `${START}|---|---|---|---|---|\n${rows.join('\n')}`
}
