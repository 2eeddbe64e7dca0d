import type { ComponentType } from 'react'
import type { ExtraProps } from '../page-contracts.ts'

/** The extra sections on the detail pages of resources, by the prefix of their ids. */
export const extras: Readonly<
  Record<string, readonly (() => Promise<{ default: ComponentType<ExtraProps> }>)[]>
> = {
  ipp: [() => import('./ip-rules.tsx'), () => import('../pages/ip-policies/ip-tester.tsx')],
  usr: [() => import('./user-invitation.tsx'), () => import('./user-password.tsx')],
  errp: [() => import('../pages/error-pages/saved-error-page.tsx')],
  ep: [() => import('../pages/failed-sign-ins.tsx')],
  au: [() => import('./user-sessions.tsx')],
  vault: [() => import('./vault-secrets.tsx')],
  ed: [() => import('../pages/events/delivery.tsx')],
}
