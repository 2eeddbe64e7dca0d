/** A certificate ready to be served. Equal versions mean equal bytes, so that TLS contexts can be cached by version. */
export interface ServedCertificate {
  readonly certPem: string
  readonly keyPem: string
  readonly version: string
}
