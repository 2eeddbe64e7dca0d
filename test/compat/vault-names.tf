# Version 0.6 of the provider alone takes the name of a vault, with the id or in its place.
resource "ngrok_secret" "by_name" {
  vault_name  = ngrok_vault.shared.name
  name        = "by-name"
  value       = "change me"
  description = var.description
}

resource "ngrok_secret" "by_both" {
  vault_id    = ngrok_vault.shared.id
  vault_name  = ngrok_vault.shared.name
  name        = "by-both"
  value       = "change me"
  description = var.description
}
