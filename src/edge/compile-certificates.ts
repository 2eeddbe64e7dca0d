import type { Snapshot } from './snapshot.ts'

/** What is wrong with the certificate an owner chose for this name, if one was chosen; undefined when nothing is. */
export function certificateFault(
  name: string,
  snapshot: Snapshot,
  uses: (id: string) => void,
): string | undefined {
  for (const covering of coveringNames(name)) {
    // Also when nobody has reserved it: it may be reserved later.
    uses(`domain ${covering}`)
    const domain = snapshot.domainNamed(covering)
    if (domain === undefined) continue
    const { certificate_id } = domain
    if (certificate_id === null) return undefined
    uses(certificate_id)
    const certificate = snapshot.certificates.get(certificate_id)
    if (certificate === undefined) return `the certificate ${certificate_id} of ${covering} is missing`
    return certificate.private_key_pem
      ? undefined
      : `the key of the certificate ${certificate_id} cannot be read`
  }
  return undefined
}

/** The name itself, then the wildcards that cover it, the most specific first. */
function coveringNames(name: string): string[] {
  const labels = name.split('.')
  return [name, ...labels.slice(1, -1).map((_, at) => `*.${labels.slice(at + 1).join('.')}`)].filter(
    (covering, at, all) => all.indexOf(covering) === at,
  )
}
