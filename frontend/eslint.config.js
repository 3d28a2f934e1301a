import js from "@eslint/js";
import { defineConfig } from "eslint/config";
import ts from "typescript-eslint";

export default defineConfig(js.configs.recommended, { files: ["**/*.{ts,tsx}"], extends: [ts.configs.recommended] });
