const DESCRIPTIONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there (connection refused)',
  ECONNRESET: 'the connection was closed',
  EHOSTUNREACH: 'there is no route to it from here',
  ENETUNREACH: 'there is no route to it from here',
  ETIMEDOUT: 'it did not answer in time',
  UND_ERR_CONNECT_TIMEOUT: 'it did not answer in time',
  UND_ERR_SOCKET: 'the connection was closed',
  EACCES: 'permission denied',
  ENOENT: 'there is no such socket',
  ENOTFOUND: 'its name cannot be resolved',
  EAI_AGAIN: 'its name cannot be resolved',
}

/** Explains a network error: `fetch` only says that it failed. */
export function describeNetworkError(error: unknown): string {
  const { name, message, code, cause } = error as NodeJS.ErrnoException
  if (name === 'TimeoutError') return 'it did not answer in time'
  const description = DESCRIPTIONS[code ?? '']
  if (description !== undefined) return description
  if (cause instanceof Error) return describeNetworkError(cause)
  // Not the texts of the TLS library, which name its source files.
  if (code === 'EPROTO' || code?.startsWith('ERR_SSL_')) return 'it does not speak TLS, or not for this name'
  return /CERT|UNABLE_TO_/.test(code ?? '') ? 'its certificate is not trusted' : message
}
