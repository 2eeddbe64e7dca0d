import type { Snapshot } from './snapshot.ts'

/** What is wrong with the certificate an owner chose for this name, if one was chosen; undefined when nothing is. */
export function findCertificateFault(
  name: string,
  snapshot: Snapshot,
  dependOn: (id: string) => void,
): string | undefined {
  for (const candidate of coveringNames(name)) {
    // Also when nobody has reserved it: it may be reserved later.
    dependOn(`domain ${candidate}`)
    const domain = snapshot.domainNamed(candidate)
    if (domain === undefined) continue
    const { certificate_id } = domain
    if (certificate_id === null) return undefined
    dependOn(certificate_id)
    const certificate = snapshot.certificates.get(certificate_id)
    if (certificate === undefined) return `the certificate ${certificate_id} of ${candidate} is missing`
    return certificate.private_key_pem
      ? undefined
      : `the key of the certificate ${certificate_id} cannot be read`
  }
  return undefined
}

/** The name itself, then the wildcards that cover it, the most specific first. */
function* coveringNames(name: string): Generator<string> {
  yield name
  for (let dot = name.indexOf('.'); dot !== -1; dot = name.indexOf('.', dot + 1)) {
    const wildcard = `*${name.slice(dot)}`
    if (wildcard !== name) yield wildcard
  }
}
