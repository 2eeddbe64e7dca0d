import { parse } from 'tldts'

/**
 * Whether the name is a public suffix, in either section of the Public Suffix List (`co.uk`, `github.io`): unrelated
 * parties register names directly below it. False for names that are not in the list.
 */
export function isPublicSuffix(name: string): boolean {
  const { publicSuffix, isIcann, isPrivate } = parse(name, {
    allowPrivateDomains: true,
    validateHostname: false,
  })
  return publicSuffix === name && Boolean(isIcann || isPrivate)
}
