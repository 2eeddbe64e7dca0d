/**
 * Settings that modules got later, with the value that means what was without them. With that value they are left out of
 * the version of a guard, so that its sessions outlive an upgrade.
 */
const LATER_SETTINGS: ReadonlyMap<string, unknown> = new Map<string, unknown>([
  ['token_endpoint_auth_method', ''],
  ['userinfo_refresh_interval', 0],
  ['email_attribute', ''],
  ['name_attribute', ''],
  ['groups_attribute', ''],
  ['sign_requests', false],
])

/** The settings that sessions are bound to. */
export function versionedSettings(settings: object): object {
  return Object.fromEntries(
    Object.entries(settings).filter(
      ([name, value]) => !LATER_SETTINGS.has(name) || LATER_SETTINGS.get(name) !== value,
    ),
  )
}
