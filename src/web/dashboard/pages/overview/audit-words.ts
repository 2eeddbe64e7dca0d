const VERBS: Readonly<Record<string, string>> = {
  create: 'Created',
  update: 'Changed',
  delete: 'Deleted',
  replace: 'Changed',
  restart: 'Restarted',
  stop: 'Stopped',
  send_test_event: 'Tried out',
  list: 'Looked at',
  get: 'Looked at',
}

const ACRONYMS = /\b(ip|tls|ssh|https?|tcp|api|oidc|saml|dns)\b/gi

/** `Created reserved domain` of `reserved_domains.create`; what is not known stays as it is written. */
export function actionWords(action: string): string {
  const [resource = '', ...rest] = action.split('.')
  const verb = rest.at(-1) ?? ''
  const what = [singular(resource), ...rest.slice(0, -1)].join(' ').replaceAll('_', ' ')
  const known = VERBS[verb]
  if (known === undefined) return action
  return `${known} ${what.replace(ACRONYMS, (word) => word.toUpperCase()).replace('OAUTH', 'OAuth')}`
}

function singular(resource: string): string {
  if (resource.startsWith('edges_')) {
    const [, kind, routes] = resource.split('_')
    return routes === undefined ? `${kind} edge` : `route of ${kind} edge`
  }
  if (resource.startsWith('backends_')) return `${resource.slice('backends_'.length)} backend`
  return resource
    .replace(/ies$/, 'y')
    .replace(/(sse|[^s])s$/, (word) => (word === 'sses' ? 'ss' : word.slice(0, -1)))
}
