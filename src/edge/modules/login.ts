import { Oauth, Oidc, Saml, type Settings } from '../../resources/index.ts'
import { implementModule } from '../contracts/module.ts'
import type { Logins } from '../services/logins.ts'
import { ModuleConfigError, type ModuleContext } from './context.ts'

/** The login service. Throws `ModuleConfigError` for an edge without one. */
export function requireLogins({ services: { logins } }: ModuleContext): Logins {
  // An edge without a login service denies all traffic (P36).
  if (logins === undefined) throw new ModuleConfigError('this edge cannot sign visitors in')
  return logins
}

/** Requires sign-in with an account at an OAuth provider. */
export const oauth = implementModule(Oauth, {
  phase: 'request',
  build: (settings: Settings<typeof Oauth>, context: ModuleContext) =>
    requireLogins(context).oauth(settings, context),
})

/** Requires sign-in at an OpenID Connect provider. */
export const oidc = implementModule(Oidc, {
  phase: 'request',
  build: (settings: Settings<typeof Oidc>, context: ModuleContext) =>
    requireLogins(context).oidc(settings, context),
})

/** Requires sign-in at a SAML identity provider. */
export const saml = implementModule(Saml, {
  phase: 'request',
  build: (settings: Settings<typeof Saml>, context: ModuleContext) =>
    requireLogins(context).saml(settings, context),
})
