/** A certificate ready to be served. Equal versions mean equal bytes, so that whatever was made of it can be kept. */
export interface ServedCertificate {
  readonly certPem: string
  readonly keyPem: string
  readonly version: string
}
