/**
 * Who is calling and what they may do: tokens, principals, the ACL of a credential, IP restrictions of an account, and
 * creating accounts. Begin with `auth.ts`; `acl.ts` compiles bind rules.
 */
export { createAccount, firstAccount, type NewAccount } from './accounts.ts'
export { type Acl, compileAcl } from './acl.ts'
export { type Auth, createAuth, type Principal, type TunnelPrincipal } from './auth.ts'
export { CREDENTIAL_KINDS, createCredentialWatch } from './credential-watch.ts'
export { createIpRestrictions, type IpRestrictions } from './ip-restrictions.ts'
export { isTokenShaped, mintToken, tokenDigest } from './token.ts'
