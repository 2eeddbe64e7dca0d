const DESCRIPTIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there (connection refused)',
  ECONNRESET: 'the connection was closed',
  EHOSTUNREACH: 'there is no route to it from here',
  ENETUNREACH: 'there is no route to it from here',
  ETIMEDOUT: 'it did not answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'it did not answer in time',
  UND_ERR_SOCKET: 'the connection was closed',
  ENOTFOUND: 'its name cannot be resolved',
  EAI_AGAIN: 'its name cannot be resolved',
}

/** Explains a network error: `fetch` only says that it failed. */
export function describeNetworkError(error: unknown): string {
  const { name, message, code, cause } = error as NodeJS.ErrnoException
  if (name === 'TimeoutError') return 'it did not answer in time'
  const description = DESCRIPTIONS[code ?? '']
  if (description !== undefined) return description
  return cause instanceof Error ? describeNetworkError(cause) : message
}
