import { parse } from 'tldts'

/**
 * Whether names directly below this one are registered by unrelated parties, by either section of the Public Suffix
 * List (`co.uk`, `github.io`). Names that the list does not mention are not.
 */
export function isPublicSuffix(name: string): boolean {
  const { publicSuffix, isIcann, isPrivate } = parse(name, {
    allowPrivateDomains: true,
    validateHostname: false,
  })
  return publicSuffix === name && Boolean(isIcann || isPrivate)
}
