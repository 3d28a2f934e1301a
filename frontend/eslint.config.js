import js from "@eslint/js";
import { defineConfig } from "eslint/config";
import ts from "typescript-eslint";

const OF_NODE = { EventTarget: false, URL: false, structuredClone: false };

export default defineConfig(
  js.configs.recommended,
  {
    files: ["**/*.{ts,tsx}"],
    extends: [ts.configs.recommended],
    rules: { "@typescript-eslint/no-explicit-any": "off" }, // what is sent comes as JSON
  },
  { files: ["tests/*.js"], languageOptions: { globals: OF_NODE } },
);
