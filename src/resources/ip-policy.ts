import { common, defineResource } from './define.ts'

/** A named set of address rules that modules and restrictions refer to. */
export const IpPolicy = defineResource({
  name: 'IP policy',
  path: '/ip_policies',
  prefix: 'ipp',
  listKey: 'ip_policies',
  event: 'ip_policy',
  fields: { ...common },
})
