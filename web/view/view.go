package view
